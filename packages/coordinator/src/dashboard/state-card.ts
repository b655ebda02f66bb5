import { byId, field, make, setAttribute, setList, setText } from './dom.js';
import type { FleetMessage } from './message.js';
import { stateView, type StateView, type StatView, type StepView } from './views/state-view.js';
import { toneSigns } from './views/tone.js';

const stepSigns: Readonly<Record<StepView['status'], string>> = { done: '✓', now: '▶', next: '·', failed: '✕' };
const stepWords: Readonly<Record<StepView['status'], string>> = {
  done: 'done',
  now: 'now',
  next: 'pending',
  failed: 'failed here',
};

/** State, percentage and progress. */
export function showState(message: FleetMessage): StateView {
  const view = stateView(message);
  const card = byId('state');
  setAttribute(card, 'data-tone', view.tone);
  setText(field(card, 'state'), `${toneSigns[view.tone]} ${view.state}`);
  setText(field(card, 'phase'), view.phase);
  setText(field(card, 'number'), view.number);
  setText(field(card, 'numberLabel'), view.numberLabel);
  setText(field(card, 'remaining'), view.remaining);
  field(card, 'hero').hidden = view.number === '–';
  showBar(field(card, 'bar'), view.percent);
  showFailure(field(card, 'failure'), view);
  field(card, 'waiting').hidden = view.waiting === '';
  setText(field(card, 'waiting'), `▲ ${view.waiting}`);
  setList(field(card, 'steps'), view.steps, {
    key: ({ name }) => name,
    create: () =>
      make(
        'li',
        {},
        make('span', { class: 'sign', 'aria-hidden': 'true' }),
        make('span', { class: 'name' }),
        make('span', { class: 'sr-only' }),
      ),
    update: showStep,
  });
  setList(field(card, 'stats'), view.stats, {
    key: ({ label }) => label,
    create: ({ label }) =>
      make('div', {}, make('dt', {}, label), make('dd', {}, make('span', {}), ' ', make('span', { class: 'note' }))),
    update: showStat,
  });
  return view;
}

function showBar(bar: HTMLElement, percent: number | null): void {
  bar.hidden = percent === null;
  setAttribute(bar, 'aria-valuenow', percent === null ? null : percent.toFixed(1));
  setAttribute(bar, 'aria-valuetext', percent === null ? 'not started' : `${percent.toFixed(1)} % copied`);
  const fill = bar.firstElementChild;
  if (fill instanceof HTMLElement) fill.style.width = `${percent ?? 0}%`;
}

function showFailure(place: HTMLElement, { failure }: StateView): void {
  place.hidden = failure === null;
  if (failure !== null) setText(place, `✕ ${failure.name}: ${failure.description}`);
}

function showStep(element: HTMLElement, { name, status }: StepView): void {
  setAttribute(element, 'data-status', status);
  setAttribute(element, 'aria-current', status === 'now' || status === 'failed' ? 'step' : null);
  const [sign, label, word] = element.children;
  if (sign) setText(sign, stepSigns[status]);
  if (label) setText(label, name);
  if (word) setText(word, `, ${stepWords[status]}`);
}

function showStat(element: HTMLElement, { value, note = '' }: StatView): void {
  const [number, beside] = element.lastElementChild?.children ?? [];
  if (number) setText(number, value);
  if (!(beside instanceof HTMLElement)) return;
  setText(beside, note);
  beside.hidden = note === '';
}
