import { BSON } from 'mongodb';
import { documentOf, type RawId } from './id-values.js';
import { idsUnder, kindsDatabase, type KeyKind } from './key-kinds.js';
import type { RawConnection } from './raw-connection.js';

/**
 * Changes the document under every `_id` of a collection in a way that its number and the round decide: sets a field,
 * sets one in the depth and takes one away, deletes it, deletes it and inserts it again with other fields, or leaves
 * it.
 */
export async function changeKinds(
  raw: RawConnection,
  kind: KeyKind,
  ids: readonly RawId[],
  round: number,
): Promise<void> {
  const { name, fields } = kind;
  const of = (way: number) => idsUnder(kind, ids).filter(({ number }) => (number + round) % 6 === way);
  const filter = (id: RawId): Buffer => documentOf(id, {});
  const update = (id: RawId, change: object): Buffer =>
    built([
      ['q', filter(id)],
      ['u', Buffer.from(BSON.serialize(change))],
    ]);
  const removal = (id: RawId): Buffer => built([['q', filter(id)]], { limit: 1 });
  const updates = [
    ...of(0).map(({ id }) => update(id, { $set: { round, state: 'set' } })),
    ...of(1).map(({ id }) => update(id, { $set: { 'deep.round': round }, $unset: { state: '' } })),
  ];
  await raw.write({ update: name, $db: kindsDatabase }, 'updates', updates);
  const gone = [...of(2), ...of(3)];
  await raw.write(
    { delete: name, $db: kindsDatabase },
    'deletes',
    gone.map(({ id }) => removal(id)),
  );
  await raw.insert(
    kindsDatabase,
    name,
    of(3).map(({ id, number }) => documentOf(id, { again: round, ...fields(number) })),
  );
}

/** A statement whose parts are documents of bytes, and more fields. */
function built(parts: readonly (readonly [string, Buffer])[], more: object = {}): Buffer {
  const rest = Buffer.from(BSON.serialize(more)).subarray(4);
  const elements = parts.flatMap(([name, bytes]) => [Buffer.from([0x03]), Buffer.from(`${name}\0`), bytes]);
  const statement = Buffer.concat([Buffer.alloc(4), ...elements, rest]);
  statement.writeInt32LE(statement.length);
  return statement;
}
