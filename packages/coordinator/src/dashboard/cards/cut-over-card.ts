import type { CommandView } from '../message.js';
import { byId, field, make, setAttribute, setList, setText } from '../page/dom.js';
import { clockText } from '../views/quantity.js';
import { answerViews } from '../views/answer-view.js';
import type { ActionView, CheckView, CutOverView } from '../views/cut-over-view.js';

const checkSigns: Readonly<Record<CheckView['status'], string>> = { met: '✓', open: '○', unknown: '–' };
const checkWords: Readonly<Record<CheckView['status'], string>> = {
  met: 'met',
  open: 'open',
  unknown: 'not applicable',
};

/**
 * The checklist, and the buttons with the reasons why they are disabled. Disabled buttons stay focusable, so that
 * screen readers read the reason.
 */
export function showCutOver(view: CutOverView, press: (action: ActionView) => void): void {
  const card = byId('cut-over');
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
  setList(field(card, 'actions'), view.actions, {
    key: ({ name }) => name,
    create: ({ name, label }) =>
      make(
        'li',
        {},
        make('button', { type: 'button', id: `do-${name}`, 'aria-describedby': `why-${name}` }, label),
        make('p', { class: 'why', id: `why-${name}` }),
      ),
    update: (element, action) => showAction(element, action, press),
  });
}

function showCheck(element: HTMLElement, { status, detail }: CheckView): void {
  setAttribute(element, 'data-status', status);
  const [sign, , word, text] = element.children;
  if (sign) setText(sign, checkSigns[status]);
  if (word) setText(word, `: ${checkWords[status]}, `);
  if (text) setText(text, detail);
}

function showAction(element: HTMLElement, action: ActionView, press: (action: ActionView) => void): void {
  const [button, why] = element.children;
  if (!(button instanceof HTMLButtonElement) || !why) return;
  setAttribute(button, 'aria-disabled', action.refusal === null ? null : 'true');
  setAttribute(button, 'class', action.isFinal ? 'final' : null);
  setText(why, action.refusal ?? '');
  button.onclick = () => press(action);
}

/** Each instance's reply to the last commands, newest first. */
export function showCommands(commands: readonly CommandView[]): void {
  setList(byId('command-list'), commands.toReversed().slice(0, 5), {
    key: ({ commandId }) => commandId,
    create: ({ name, at_ms, success, results }) => {
      const answers = answerViews(results).map(({ accepted, text }) =>
        make('li', { 'data-tone': accepted ? 'good' : 'bad' }, text),
      );
      return make(
        'li',
        {},
        make(
          'p',
          {},
          make('strong', {}, name),
          ` at ${clockText(at_ms)}: ${success ? 'accepted by all' : 'not accepted by all'}`,
        ),
        make('ul', {}, ...answers),
      );
    },
    update: () => undefined,
  });
}
