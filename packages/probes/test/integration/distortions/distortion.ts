import { randomBytes } from 'node:crypto';
import { Binary, type Document, Timestamp } from 'mongodb';
import { isEnd } from '../../../src/framework/event-stream.js';
import type { Observer } from '../../../src/framework/server.js';

/** Answers like a server that contradicts a probe's sentence: the probe must detect it. */
export type Distortion = Observer;

type Alter = (reply: Document, command: Document) => Document;

/** Alters replies to commands of a name. */
export function on(name: string, alter: Alter): Distortion {
  return ({ command }, reply) => (Object.keys(command)[0] === name ? alter(reply, command) : reply);
}

/** Alters replies to matching commands. */
export function where(fits: (command: Document, on: string) => boolean, alter: Alter): Distortion {
  return ({ command, on: node }, reply) => (fits(command, node) ? alter(reply, command) : reply);
}

/** One after the other. */
export function both(first: Distortion, second: Distortion): Distortion {
  return (asked, reply) => second(asked, first(asked, reply));
}

export const atATime = (command: Document): boolean =>
  (command['readConcern'] as Document | undefined)?.['atClusterTime'] !== undefined;
export const isFind = (command: Document): boolean => command['find'] !== undefined;

/** Executes what was refused. */
export function accepted(reply: Document): Document {
  const { operationTime, $clusterTime }: Record<string, unknown> = reply;
  return {
    ok: 1,
    n: 1,
    nModified: 1,
    cursor: { id: 0, ns: 'db.c', firstBatch: [], nextBatch: [] },
    operationTime,
    $clusterTime,
  };
}

/** Executes what was refused with a code, as a command or as a statement. */
export function acceptedCode(code: number): Distortion {
  return (_, reply) => {
    const [first] = (reply['writeErrors'] as { code: number }[] | undefined) ?? [];
    return reply['code'] === code || first?.code === code ? accepted(reply) : reply;
  };
}

/** Refuses what succeeded. */
export function refused(code: number): Alter {
  return ({ operationTime, $clusterTime }: Record<string, unknown>) => ({
    ok: 0,
    code,
    errmsg: 'distorted',
    operationTime,
    $clusterTime,
  });
}

/** Sets fields of a reply. */
export function fields(set: Document): Alter {
  return (reply) => ({ ...reply, ...set });
}

/** Sets fields of the cursor. */
export function cursor(set: Document): Alter {
  return (reply) => ({ ...reply, cursor: { ...(reply['cursor'] as Document), ...set } });
}

/** Alters the documents of any batch. */
export function batch(alter: (documents: Document[]) => unknown[]): Alter {
  return (reply) => {
    const given = reply['cursor'] as Document | undefined;
    if (given === undefined) return reply;
    const name = given['firstBatch'] === undefined ? 'nextBatch' : 'firstBatch';
    return { ...reply, cursor: { ...given, [name]: alter(given[name] as Document[]) } };
  };
}

export const none = batch(() => []);
export const allButLast = batch((documents) => documents.slice(0, -1));
export const reversed = batch((documents) => [...documents].reverse());

/** Sets fields of every document of a batch. */
export function each(set: Document): Alter {
  return batch((documents) => documents.map((document) => ({ ...document, ...set })));
}

/** Alters change events: into none, one or several. The markers that end a read stay. */
export function events(alter: (event: Document) => readonly Document[]): Distortion {
  return on(
    'getMore',
    batch((documents) =>
      documents.flatMap((event) => (isEnd(event) || event['_id'] === undefined ? [event] : [...alter(event)])),
    ),
  );
}

/** Sets fields of every event. */
export function eventsWith(set: Document): Distortion {
  return events((event) => [{ ...event, ...set }]);
}

/** Shows events of some operations twice. */
export function repeated(...operations: string[]): Distortion {
  return events((event) => (operations.includes(event['operationType'] as string) ? [event, event] : [event]));
}

/** Omits events of some operations. */
export function without(...operations: string[]): Distortion {
  return events((event) => (operations.includes(event['operationType'] as string) ? [] : [event]));
}

export const longAgo = new Timestamp({ t: 1, i: 1 });

/** Every collection has another UUID in each read, or all have the same. */
export function uuids(uuid: () => unknown): Distortion {
  return on(
    'listCollections',
    batch((documents) => documents.map((document) => ({ ...document, info: { uuid: uuid() } }))),
  );
}

export const anyUuid = (): Binary => new Binary(randomBytes(16), Binary.SUBTYPE_UUID);
export const oneUuid = new Binary(Buffer.alloc(16, 1), Binary.SUBTYPE_UUID);
