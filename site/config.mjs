import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitepress';
import { anchorOf } from './document-tree.mjs';
import { addDiagrams, addRepositoryLinks } from './markdown-rules.mjs';

/** What the script that stages the pages has found out; see `scripts/site/stage.mjs`. */
const staged = JSON.parse(readFileSync(new URL('./staged.json', import.meta.url), 'utf8'));

export default defineConfig({
  title: 'Convoy',
  description: staged.description,
  lang: 'en',
  base: staged.base,
  srcDir: 'pages',
  outDir: staged.outDir,
  // The script checks all links, anchors included, and names the documents.
  ignoreDeadLinks: true,
  metaChunk: true,
  // The index of the search and Mermaid are large, and loaded only when they are needed.
  vite: { build: { chunkSizeWarningLimit: 3_000 } },
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: `${staged.base}icon.svg` }]],
  markdown: {
    anchor: { slugify: anchorOf },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config: (md) => {
      addRepositoryLinks(md, new Map(staged.sources));
      addDiagrams(md);
    },
  },
  themeConfig: {
    logo: '/icon.svg',
    nav: staged.nav,
    sidebar: staged.sidebar,
    outline: { level: [2, 3] },
    search: { provider: 'local' },
    ...(staged.repository && { socialLinks: [{ icon: 'github', link: staged.repository }] }),
    footer: { message: 'Apache License 2.0', copyright: `Convoy ${staged.version}` },
  },
});
