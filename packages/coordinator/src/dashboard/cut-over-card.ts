import { byId, field, make, setAttribute, setList, setText } from './dom.js';
import type { CommandView } from './message.js';
import { type ActionView, answerViews, type CheckView, type CutOverView } from './views/cut-over-view.js';
import { clockText } from './views/quantity.js';

const checkSigns: Readonly<Record<CheckView['status'], string>> = { met: '✓', open: '○', unknown: '–' };
const checkWords: Readonly<Record<CheckView['status'], string>> = {
  met: 'met',
  open: 'open',
  unknown: 'not applicable',
};

/** Characters of a point that has a row of its own. */
const wideFrom = 42;

/** What to do next: the command that leads on, other possible ones beside it, and the preconditions of a commit. */
export function showCutOver(view: CutOverView, press: (action: ActionView) => void): void {
  const card = byId('cut-over');
  setText(field(card, 'advice'), view.advice);
  setList(field(card, 'checks'), view.checks, {
    key: ({ label }) => label,
    create: ({ label }) =>
      make(
        'li',
        {},
        make('span', { class: 'sign', 'aria-hidden': 'true' }),
        make('span', {}, label),
        make('span', { class: 'sr-only' }),
        make('span', { class: 'detail' }),
      ),
    update: showCheck,
  });
  const shown = [...(view.primary === null ? [] : [view.primary]), ...view.secondary];
  field(card, 'actions').hidden = shown.length === 0;
  setList(field(card, 'actions'), shown, {
    key: ({ name }) => name,
    create: ({ name, label }) => make('li', {}, make('button', { type: 'button', id: `do-${name}` }, label)),
    update: (element, action) => showAction(element, action, action === view.primary, press),
  });
}

function showCheck(element: HTMLElement, { label, status, detail }: CheckView): void {
  setAttribute(element, 'data-status', status);
  setAttribute(element, 'data-wide', label.length + detail.length > wideFrom ? 'yes' : null);
  const [sign, , word, text] = element.children;
  if (sign) setText(sign, checkSigns[status]);
  if (word) setText(word, `: ${checkWords[status]}, `);
  if (text) setText(text, detail);
}

function showAction(
  element: HTMLElement,
  action: ActionView,
  isPrimary: boolean,
  press: (action: ActionView) => void,
): void {
  const button = element.firstElementChild;
  if (!(button instanceof HTMLButtonElement)) return;
  setAttribute(button, 'class', `${isPrimary ? 'primary' : 'quiet'}${action.isFinal ? ' final' : ''}`);
  setText(button, action.isFinal ? `${action.label} (final) …` : isPrimary ? `${action.label} …` : action.label);
  button.onclick = () => press(action);
}

/** Each instance's reply to the last commands, newest first. */
export function showCommands(commands: readonly CommandView[]): void {
  byId('commands').hidden = commands.length === 0;
  setList(byId('command-list'), commands.toReversed().slice(0, 5), {
    key: ({ commandId }) => commandId,
    create: ({ name, at_ms, success, results, waitingFor }) => {
      const answers = answerViews(results, waitingFor).map(({ accepted, text }) =>
        make('li', { 'data-tone': accepted ? 'good' : 'bad' }, text),
      );
      return make(
        'li',
        {},
        make('p', {}, make('strong', {}, name), ` at ${clockText(at_ms)}: ${outcomeText(success, waitingFor)}`),
        make('ul', {}, ...answers),
      );
    },
    update: () => undefined,
  });
}

function outcomeText(success: boolean, waitingFor: readonly string[]): string {
  if (!success) return 'not accepted by all';
  return waitingFor.length === 0 ? 'accepted by all' : 'accepted, and recorded for those without a reply';
}
