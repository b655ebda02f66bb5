import { make } from './dom.js';

const key = 'convoy-theme';
const choices = ['system', 'light', 'dark'] as const;
type Choice = (typeof choices)[number];

const signs: Readonly<Record<Choice, string>> = { system: '◐', light: '☀', dark: '☾' };
const words: Readonly<Record<Choice, string>> = { system: 'System', light: 'Light', dark: 'Dark' };

/** Makes a button cycle through light, dark and the system's theme, and remembers the choice. */
export function useTheme(button: HTMLElement, changed: () => void): void {
  let choice = choices.find((one) => one === localStorage.getItem(key)) ?? 'system';
  const apply = (): void => {
    if (choice === 'system') document.documentElement.removeAttribute('data-theme');
    else document.documentElement.setAttribute('data-theme', choice);
    button.replaceChildren(signs[choice], make('span', { class: 'word' }, ` ${words[choice]}`));
    button.setAttribute('aria-label', `Colours: ${choice}. Change.`);
    changed();
  };
  button.addEventListener('click', () => {
    choice = choices[(choices.indexOf(choice) + 1) % choices.length] ?? 'system';
    localStorage.setItem(key, choice);
    apply();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => changed());
  apply();
}
