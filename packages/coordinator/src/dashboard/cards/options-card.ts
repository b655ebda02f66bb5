import type { FleetMessage } from '../message.js';
import { byId, field, make, setList, setText } from '../page/dom.js';
import { optionViews } from '../views/options-view.js';

/** The options in force, as recorded at the start. */
export function showOptions({ progress }: FleetMessage): void {
  const card = byId('options');
  const views = optionViews(progress.options);
  card.hidden = views.length === 0;
  setList(field(card, 'list'), views, {
    key: ({ name }) => name,
    create: ({ name }) => make('div', {}, make('dt', {}, name), make('dd', {})),
    update: (element, { value }) => setText(element.lastElementChild ?? element, value),
  });
}
