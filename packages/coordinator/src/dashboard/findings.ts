import type { CheckReply } from '@convoy/api/contract/start-guide';
import { field, make, setList, setText } from './dom.js';

type Item = CheckReply['items'][number];

const signs = { passed: '✓', warning: '▲', failed: '✕', unchecked: '–' } as const;
const tones = { passed: 'good', warning: 'warning', failed: 'bad', unchecked: 'off' } as const;
const order: readonly Item['result'][] = ['failed', 'warning', 'unchecked'];

/** Findings that need attention, the refusals first; the passed ones behind a line that counts them. */
export function showFindings(card: HTMLElement, items: readonly Item[]): void {
  const open = order.flatMap((result) => items.filter((item) => item.result === result));
  const passed = items.filter(({ result }) => result === 'passed');
  showItems(field(card, 'findings'), open);
  field(card, 'passed').hidden = passed.length === 0;
  setText(field(card, 'passedCount'), `✓ ${passed.length} checks passed`);
  showItems(field(card, 'passedList'), passed);
}

/** Findings as a list; hidden without any. */
export function showItems(list: HTMLElement, items: readonly Item[]): void {
  list.hidden = items.length === 0;
  setList(list, items, {
    key: ({ check, result, description }) => `${check} ${result} ${description}`,
    create,
    update,
  });
}

function create({ check, result, description, error, names = [] }: Item): HTMLElement {
  const list = names.length === 0 ? [] : [make('details', {}, make('summary', {}, 'Names'), names.join(', '))];
  return make(
    'li',
    { 'data-tone': tones[result] },
    make('strong', {}, `${signs[result]} ${check}`),
    ` ${result}${error === null ? '' : ` (${error})`}`,
    make('p', {}, description),
    ...list,
  );
}

function update(): void {
  return;
}
