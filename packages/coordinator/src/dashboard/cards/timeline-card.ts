import type { History, TimelineEntry } from '@convoy/api/contract/history';
import { byId, field, make, setList, setText } from '../page/dom.js';
import { dateTimeText } from '../views/quantity.js';

const signs: Readonly<Record<TimelineEntry['level'], string>> = { info: '•', good: '✓', warning: '▲', bad: '✕' };

/** The timeline, newest first. */
export function showTimeline({ timeline, entriesDropped }: History): void {
  const card = byId('timeline');
  card.hidden = timeline.length === 0;
  setText(
    field(card, 'dropped'),
    entriesDropped === 0 ? '' : `${entriesDropped} entries in the middle are not stored.`,
  );
  const numbered = timeline.map((entry, at) => ({ entry, key: `${entry.at_ms} ${entry.text} ${at}` }));
  setList(field(card, 'list'), numbered.toReversed(), {
    key: ({ key }) => key,
    create: ({ entry }) =>
      make(
        'li',
        { 'data-tone': entry.level },
        make('time', { datetime: new Date(entry.at_ms).toISOString() }, dateTimeText(entry.at_ms)),
        make('span', { class: 'sign', 'aria-hidden': 'true' }, signs[entry.level]),
        make('span', {}, entry.text),
      ),
    update: () => undefined,
  });
}
