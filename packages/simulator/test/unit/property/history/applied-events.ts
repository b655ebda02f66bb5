import type { Document } from 'mongodb';
import type { Event } from './change-stream.js';
import type { Item } from './model.js';

/**
 * Applies the events of one database to nothing. Documents are told apart by their whole key, because the insert of a
 * document that changes its shard may come before the delete on the old one.
 * @returns the documents of every collection at the end, by name, in the order of `_id`
 */
export function applied(events: readonly Event[]): Map<string, Item[]> {
  const collections = new Map<string, Map<string, Item>>();
  for (const event of events) apply(collections, event);
  return new Map([...collections].map(([name, items]) => [name, [...items.values()].sort((a, b) => a._id - b._id)]));
}

function apply(collections: Map<string, Map<string, Item>>, event: Event): void {
  const name = (event['ns'] as { coll?: string }).coll ?? '';
  const items = collections.get(name) ?? new Map<string, Item>();
  switch (event.operationType) {
    case 'insert':
    case 'replace': {
      const item = event.fullDocument as Item;
      items.set(keyText(item), item);
      collections.set(name, items);
      return;
    }
    case 'update': {
      const key = keyText(event.documentKey as Item);
      const item = items.get(key);
      if (item === undefined) throw new Error(`an update of ${key}, which is not there`);
      items.delete(key);
      const after = updated(item, event['updateDescription'] as Document);
      items.set(keyText(after), after);
      return;
    }
    case 'delete': {
      const key = keyText(event.documentKey as Item);
      if (!items.delete(key)) throw new Error(`a delete of ${key}, which is not there`);
      return;
    }
    case 'drop':
      collections.delete(name);
      return;
    case 'rename': {
      // Every shard shows it: the first moves the documents, the others find none.
      if (!collections.delete(name)) return;
      collections.set((event['to'] as { coll: string }).coll, items);
      return;
    }
    default:
      throw new Error(`an event of a kind that was not expected: ${event.operationType}`);
  }
}

function keyText({ _id, k }: { _id: number; k?: number }): string {
  return `${_id} at ${k ?? 'no key'}`;
}

function updated(item: Item, { updatedFields, removedFields }: Document): Item {
  const after: Document = { ...item, ...(updatedFields as Document) };
  return Object.fromEntries(
    Object.entries(after).filter(([name]) => !(removedFields as string[]).includes(name)),
  ) as unknown as Item;
}
