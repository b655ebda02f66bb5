import type { FleetMessage } from '../message.js';
import type { StateView } from '../views/state-view.js';

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
