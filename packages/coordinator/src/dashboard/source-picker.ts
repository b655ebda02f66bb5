import type { SourceReply } from '@convoy/api/contract/start-guide';
import { field, make, setList, setText } from './dom.js';
import { bytesText, countText } from './views/quantity.js';
import { databasesOf, type DatabaseView } from './views/start-options.js';

/** Maximum databases, and collections of one database, on the page; a search finds the rest. */
const shownMax = 100;

/** The source's databases and collections, to pick from. */
export class SourcePicker {
  readonly databases = new Set<string>();
  readonly collections = new Map<string, Set<string>>();
  readonly #opened = new Set<string>();
  #all: readonly DatabaseView[] = [];

  /**
   * @param place the element with the list, the search and the note
   * @param changed called after every choice
   */
  constructor(
    private readonly place: HTMLElement,
    private readonly changed: () => void,
  ) {
    this.#search.addEventListener('input', () => this.#draw());
  }

  show(source: SourceReply): void {
    this.#all = databasesOf(source);
    setText(field(this.place, 'listed'), listedText(source, this.#all));
    this.#draw();
  }

  get #search(): HTMLInputElement {
    return field(this.place, 'search') as HTMLInputElement;
  }

  #draw(): void {
    const wanted = this.#search.value.trim().toLowerCase();
    const matches = ({ name, collections }: DatabaseView): boolean =>
      wanted === '' || name.toLowerCase().includes(wanted) || collections.some((one) => isFound(one, wanted));
    setList(field(this.place, 'databases'), this.#all.filter(matches).slice(0, shownMax), {
      key: ({ name }) => name,
      create: (database) => this.#makeDatabase(database),
      update: (element, database) => this.#drawCollections(element, database, wanted),
    });
  }

  #makeDatabase({ name, collections, totalBytes }: DatabaseView): HTMLElement {
    const box = checkbox(this.databases.has(name), (isOn) => {
      if (isOn) this.databases.add(name);
      else this.databases.delete(name);
      this.#draw();
      this.changed();
    });
    const open = make('button', { type: 'button', class: 'quiet', 'aria-expanded': 'false' });
    setText(open, `${countText(collections.length)} ${collections.length === 1 ? 'collection' : 'collections'}`);
    open.addEventListener('click', () => {
      if (!this.#opened.delete(name)) this.#opened.add(name);
      open.setAttribute('aria-expanded', String(this.#opened.has(name)));
      this.#draw();
    });
    const size = make('span', { class: 'size' }, bytesText(totalBytes));
    return make('li', {}, make('div', { class: 'pick' }, make('label', {}, box, name), size, open), make('ul', {}));
  }

  #drawCollections(element: HTMLElement, { name, collections }: DatabaseView, wanted: string): void {
    const list = element.lastElementChild;
    if (!(list instanceof HTMLElement)) return;
    list.hidden = !this.#opened.has(name);
    const found = wanted === '' ? collections : collections.filter((one) => isFound(one, wanted));
    const shown = list.hidden ? [] : (found.length > 0 ? found : collections).slice(0, shownMax);
    setList(list, shown, {
      key: ({ collection }) => collection,
      create: ({ collection, totalBytes, documents }) =>
        make(
          'li',
          { class: 'pick' },
          make('label', {}, this.#collectionBox(name, collection), collection),
          make('span', { class: 'size' }, `${bytesText(totalBytes)}, ${countText(documents)} documents`),
        ),
      update: (row) => {
        const box = row.querySelector('input');
        if (box !== null) box.disabled = this.databases.has(name);
      },
    });
  }

  #collectionBox(database: string, collection: string): HTMLInputElement {
    const known = this.collections.get(database) ?? new Set();
    this.collections.set(database, known);
    return checkbox(known.has(collection), (isOn) => {
      if (isOn) known.add(collection);
      else known.delete(collection);
      this.changed();
    });
  }
}

function isFound({ database, collection }: SourceReply['rows'][number], wanted: string): boolean {
  return `${database}.${collection}`.toLowerCase().includes(wanted);
}

function checkbox(isOn: boolean, changed: (isOn: boolean) => void): HTMLInputElement {
  const box = make('input', { type: 'checkbox' });
  box.checked = isOn;
  box.addEventListener('change', () => changed(box.checked));
  return box;
}

function listedText({ rows, unlisted }: SourceReply, databases: readonly DatabaseView[]): string {
  const bytes = bytesText(databases.reduce((sum, { totalBytes }) => sum + totalBytes, 0));
  const more = unlisted === 0 ? '' : ` ${countText(unlisted)} more are not listed: name them under Advanced.`;
  return `${countText(rows.length)} collections in ${countText(databases.length)} databases, ${bytes}.${more}`;
}
