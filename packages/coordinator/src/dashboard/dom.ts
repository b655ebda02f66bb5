type Child = Node | string;

/** Creates an element with attributes (without undefined ones) and children. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string | undefined>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Writes a text only when it changed, so that nothing moves or is read aloud without news. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Sets an attribute only when it changed; null removes it. */
export function setAttribute(element: Element, name: string, value: string | null): void {
  if (value === null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** The page's element with this id. */
export function byId(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no ${id}`);
  return element;
}

interface ListOf<Item> {
  readonly key: (item: Item) => string;
  readonly create: (item: Item) => HTMLElement;
  readonly update: (element: HTMLElement, item: Item) => void;
}

/** Updates an element's children from a list. Remaining children stay the same elements, so they keep their focus. */
export function setList<Item>(
  parent: HTMLElement,
  items: readonly Item[],
  { key, create, update }: ListOf<Item>,
): void {
  const known = new Map(
    [...parent.children].flatMap((child) =>
      child instanceof HTMLElement ? [[child.dataset['key'] ?? '', child] as const] : [],
    ),
  );
  let place: Element | null = parent.firstElementChild;
  for (const item of items) {
    const name = key(item);
    const element = known.get(name) ?? create(item);
    element.dataset['key'] = name;
    known.delete(name);
    update(element, item);
    if (element === place) place = place.nextElementSibling;
    else parent.insertBefore(element, place);
  }
  for (const child of known.values()) child.remove();
}

/** Table cells or definitions by field name. */
export function field(parent: HTMLElement, name: string): HTMLElement {
  const element = parent.querySelector<HTMLElement>(`[data-field="${name}"]`);
  if (element === null) throw new Error(`no field ${name}`);
  return element;
}
