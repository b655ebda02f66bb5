import type { Mismatch, MismatchQuery } from '@convoy/api/contract/mismatch';
import type { Binary, Document } from 'mongodb';
import { restoredValue } from '../../bson/sent-value.js';
import type { CatalogDifference } from '../../catalog/compare-catalogs.js';
import type { NamespaceRemap } from '../../catalog/namespace-remap.js';
import { namespaceFrom, namespaceOf } from '../../catalog/namespace.js';
import type { Metadata } from '../../store/metadata.js';
import { isVerified, type MigrationRecord } from '../../store/migration-record.js';
import { namedOnBothSides } from '../../verify/compare/sides.js';
import { idJson } from '../../verify/standalone/described-mismatch.js';
import { type MigrationDependencies, remapOf } from './migration-dependencies.js';
import { isHeld, type MigrationView } from '../../store/migration-view.js';

/** Documents in one read. */
const pageMax = 1_000;
/** Bounds of the mismatches in a report, in number and in characters; each process can read all of them. */
const reportedMax = 100;
const reportedCharactersMax = 64 * 1024;
/** Minimum interval between reads for the report. */
const reported_ms = 2_000;

/**
 * The mismatches that the verifiers of all tasks have found, ordered by collection; none once the destination is open.
 */
export async function* readMismatches(
  metadata: Metadata,
  { phase }: MigrationRecord,
  isFailed: boolean,
  query: MismatchQuery,
  signal: AbortSignal,
): AsyncGenerator<Mismatch> {
  if (phase === 'opening' || phase === 'committed') return;
  const filter = {
    ...(query.kind === undefined ? {} : { kind: query.kind }),
    ...(query.namespace === undefined ? {} : { namespace: query.namespace }),
  };
  let [left, after, before] = [query.limit, '', ''];
  while (left > 0) {
    const page = await metadata.findSome('mismatches', { ...filter, _id: { $gt: after } }, pageMax, signal);
    for (const stored of page) {
      const name = nameOfMismatch(stored);
      // Two tasks may have found the same mismatch.
      if (name === before) continue;
      before = name;
      yield described(stored, isFailed);
      left -= 1;
      if (left === 0) return;
    }
    const last = page.at(-1);
    if (last === undefined || page.length < pageMax) return;
    after = String(last._id);
  }
}

/** The name of a difference, whichever task has found it. */
export function nameOfMismatch({ _id, task }: Document): string {
  const name = String(_id);
  return task === undefined ? name : name.slice(0, -String(task).length - 1);
}

function described(stored: Document, isFailed: boolean): Mismatch {
  const { namespace, destination, kind, id, paths, detail, firstSeen, lastSeen, looks, standing } = stored;
  return {
    namespace: String(namespace),
    ...(typeof destination === 'string' && { destination }),
    kind: kind as Mismatch['kind'],
    _id: id === undefined ? null : idJson(restoredValue(id as Binary)),
    paths: (paths ?? []) as Mismatch['paths'],
    detail: typeof detail === 'string' ? detail : null,
    firstSeen: (firstSeen as Date).toISOString(),
    lastSeen: (lastSeen as Date).toISOString(),
    looks: Number(looks),
    proven: isFailed || (standing as Document | undefined)?.proven === true,
  };
}

/** The first mismatches, as an instance reports them to the fleet. */
export class ReportedMismatches {
  mismatches: readonly Mismatch[] = [];
  #read_ms = -Infinity;
  #reading = false;

  /** Reads them again when due and when there may be any; after a failed read the former ones stay. */
  refresh(view: MigrationView | null, now_ms: number, read: (query: MismatchQuery) => AsyncIterable<Mismatch>): void {
    const differs =
      view !== null &&
      (view.record.failure !== null ||
        isHeld(view.record) ||
        [...view.tasks.values()].some(({ verification }) => (verification?.differing ?? 0) > 0));
    if (!differs) this.mismatches = [];
    if (!differs || this.#reading || now_ms - this.#read_ms < reported_ms) return;
    this.#reading = true;
    this.#read_ms = now_ms;
    void this.#take(read({ limit: reportedMax })).finally(() => (this.#reading = false));
  }

  async #take(mismatches: AsyncIterable<Mismatch>): Promise<void> {
    const taken: Mismatch[] = [];
    let characters = 0;
    try {
      for await (const mismatch of mismatches) {
        characters += JSON.stringify(mismatch).length;
        if (characters > reportedCharactersMax) break;
        taken.push(mismatch);
      }
      this.mismatches = taken;
    } catch {
      // Other warnings report an unreachable destination; the next refresh tries again.
    }
  }
}

/**
 * A difference in a namespace of the destination; `order`: the documents of a capped collection were inserted in
 * another order.
 */
type NotedDifference = Omit<CatalogDifference, 'kind'> & { kind: CatalogDifference['kind'] | 'order' };

/** Notes namespaces that differ among the mismatches, if the migration is verified. */
export async function noteDifferences(
  { metadata, watch, runtime }: MigrationDependencies,
  differences: readonly NotedDifference[],
  signal: AbortSignal,
): Promise<void> {
  if (!isVerified(watch.view.record) || differences.length === 0) return;
  const now = new Date(runtime.clock.now_ms());
  const remap = remapOf(watch.view.record);
  const documents = differences.map(({ kind, namespace, detail }) => ({
    _id: `definition/${namespace}/${kind}/${detail}`,
    ...sourceNameOf(remap, namespace),
    kind,
    detail,
    firstSeen: now,
    lastSeen: now,
    looks: 1,
  }));
  await metadata.upsertMany('mismatches', documents, signal);
}

/** @param destination the name of a collection on the destination */
export function sourceNameOf(remap: NamespaceRemap, destination: string): ReturnType<typeof namedOnBothSides> {
  const source = remap.toSource(namespaceFrom(destination));
  return namedOnBothSides(source === null ? destination : namespaceOf(source), destination);
}
