import { useData } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import { defineComponent, h, onMounted, ref, watch } from 'vue';

/** A diagram of Mermaid in the colours of the page. Its library is loaded only where there is one. */
const Diagram = defineComponent({
  props: { code: { type: String, required: true } },
  setup({ code }, { slots }) {
    const { isDark } = useData();
    const picture = ref('');
    const draw = async () => {
      const { default: mermaid } = await import('mermaid');
      mermaid.initialize({
        startOnLoad: false,
        layout: 'elk',
        theme: isDark.value ? 'dark' : 'neutral',
        fontFamily: 'inherit',
      });
      const { svg } = await mermaid.render(`diagram-${Date.now()}`, decodeURIComponent(code));
      picture.value = svg;
    };
    onMounted(draw);
    watch(isDark, draw);
    return () =>
      picture.value === ''
        ? h('div', { class: 'diagram' }, slots.default?.())
        : h('div', { class: 'diagram', innerHTML: picture.value });
  },
});

export const theme = {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component('Diagram', Diagram);
  },
};
