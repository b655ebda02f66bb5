import { make } from './dom.js';
import { ApiFailure, type FleetApi } from './fleet-api.js';
import type { FleetMessage } from './message.js';
import type { StateView } from './views/state-view.js';

/** Percent between two announcements of the progress. */
const percentStep = 10;

/** Announces important changes to screen readers, without plain counters. */
export class Announcer {
  #said = '';
  #warnings: readonly string[] = [];

  constructor(private readonly region: HTMLElement) {}

  say(text: string): void {
    this.region.textContent = text;
  }

  follow({ progress }: FleetMessage, { state, phase, percent }: StateView): void {
    const tenth = percent === null ? '' : ` ${Math.floor(percent / percentStep) * percentStep} per cent copied.`;
    const text = `${state}. ${phase}${percent !== null && percent < 100 ? tenth : ''}`;
    const names = (progress.warnings ?? []).map(({ name }) => name);
    const started = names.filter((name) => !this.#warnings.includes(name));
    this.#warnings = names;
    const warning = started.length === 0 ? '' : ` New warning: ${started.join(', ')}.`;
    if (text === this.#said && warning === '') return;
    this.#said = text;
    this.say(text + warning);
  }
}

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

const failureShown_ms = 5_000;

/** Makes a button save the report as an HTML file. A failure shows on the button for a while. */
export function offerReport(button: HTMLElement, api: FleetApi): void {
  const label = button.textContent;
  button.addEventListener('click', () => {
    save(api).catch((error: unknown) => {
      button.textContent = error instanceof ApiFailure ? `Report: ${error.error}` : 'Report: no response';
      setTimeout(() => (button.textContent = label), failureShown_ms);
    });
  });
}

async function save(api: FleetApi): Promise<void> {
  const address = URL.createObjectURL(await api.readFile('/api/v1/report.html'));
  const link = document.createElement('a');
  link.href = address;
  link.download = 'convoy-report.html';
  link.click();
  URL.revokeObjectURL(address);
}
