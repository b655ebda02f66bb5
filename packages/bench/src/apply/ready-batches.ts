import { BSON, type Document } from 'mongodb';
import { deleteStatement, replaceStatement, updateStatement } from '@convoy/instance/bson/build';
import type { RawWrite } from '@convoy/instance/cluster/node-client';
import { documentMaker } from '../copy/bench-documents.js';
import { type ApplyWorkload, type HotChange, type Operation, operationsOf } from './apply-workload.js';

/** How operations form bulk commands. */
export interface BatchForm {
  workers: number;
  /** Maximum operations per window. */
  operationsMax: number;
  /**
   * `folded`: unordered, one statement per document of a window. `single`: unordered, one statement per operation; a
   * window ends where a document repeats. `ordered`: one statement per operation in the given order, and a command per
   * run of one kind.
   */
  order: 'folded' | 'single' | 'ordered';
}

/** A statement of a write command. */
interface Statement {
  kind: RawWrite['kind'];
  bytes: Uint8Array;
}

/** Every worker's commands in sending order. All operations of a document belong to one worker. */
export function readyBatches(workload: ApplyWorkload, form: BatchForm): RawWrite[][] {
  const workers: Operation[][] = Array.from({ length: form.workers }, () => []);
  // The multiplier spreads neighbours; any worker will do.
  for (const operation of operationsOf(workload))
    workers[(Math.imul(operation.id, 0x9e3779b1) >>> 8) % form.workers]?.push(operation);
  const statementOf = statementMaker(workload);
  return workers.map((operations) =>
    windowsOf(operations, form).flatMap((window) => commandsOf(window, form.order, workload, statementOf)),
  );
}

function windowsOf(operations: readonly Operation[], { operationsMax, order }: BatchForm): Operation[][] {
  const windows: Operation[][] = [];
  let window: Operation[] = [];
  const seen = new Set<number>();
  const close = (): void => {
    if (window.length > 0) windows.push(window);
    window = [];
    seen.clear();
  };
  for (const operation of operations) {
    if (window.length >= operationsMax || (order === 'single' && seen.has(operation.id))) close();
    window.push(operation);
    seen.add(operation.id);
  }
  close();
  return windows;
}

function commandsOf(
  window: readonly Operation[],
  order: BatchForm['order'],
  workload: ApplyWorkload,
  statementOf: (operation: Operation) => Statement,
): RawWrite[] {
  if (order === 'ordered') return runsOf(window.map(statementOf)).map((run) => writeOf(run, workload, true));
  const statements = (order === 'folded' ? folded(window) : window).map(statementOf);
  const kinds = ['insert', 'update', 'delete'] as const;
  return kinds.flatMap((kind) => {
    const own = statements.filter((statement) => statement.kind === kind);
    return own.length === 0 ? [] : [writeOf(own, workload, false)];
  });
}

function writeOf(
  statements: readonly Statement[],
  { database, collection }: ApplyWorkload,
  ordered: boolean,
): RawWrite {
  return {
    database,
    collection,
    kind: statements[0]?.kind ?? 'insert',
    statements: statements.map(({ bytes }) => bytes),
    ordered,
  };
}

function runsOf(statements: readonly Statement[]): Statement[][] {
  const runs: Statement[][] = [];
  for (const statement of statements) {
    const run = runs.at(-1);
    if (run?.[0]?.kind === statement.kind) run.push(statement);
    else runs.push([statement]);
  }
  return runs;
}

/** The one operation per document with the effect of all the window's operations. */
function folded(window: readonly Operation[]): Operation[] {
  const byId = new Map<number, Operation>();
  for (const operation of window) {
    const before = byId.get(operation.id);
    const isNew = before?.kind === 'insert' && operation.kind !== 'delete';
    const wasWhole = before?.kind === 'replace' && operation.kind === 'update';
    byId.set(operation.id, isNew || wasWhole ? { ...operation, kind: before.kind } : operation);
  }
  return [...byId.values()];
}

function statementMaker({ documentBytes, text, hotChange }: ApplyWorkload): (operation: Operation) => Statement {
  const make = documentMaker(documentBytes, text);
  const documentOf = ({ id, version }: Operation): Uint8Array => BSON.serialize({ ...make(id), ...changeOf(version) });
  return (operation) => {
    const filter = (): Uint8Array => BSON.serialize({ _id: operation.id });
    switch (operation.kind) {
      case 'insert':
        return { kind: 'insert', bytes: documentOf(operation) };
      case 'replace':
        return { kind: 'update', bytes: replaceStatement(filter(), documentOf(operation)) };
      case 'update':
        return {
          kind: 'update',
          bytes: updateStatement(filter(), { document: BSON.serialize(updateOf(operation, hotChange)) }),
        };
      case 'delete':
        return { kind: 'delete', bytes: deleteStatement(filter()) };
    }
  };
}

function updateOf({ isHot, version }: Operation, hotChange: HotChange | undefined): Document {
  if (isHot !== true || hotChange === undefined) return { $set: changeOf(version) };
  if (hotChange === 'nested') return { $set: { 'counters.views': version } };
  return version % 2 === 0 ? { $unset: { lock: '' } } : { $set: { lock: version } };
}

/** The fields that an update changes. */
function changeOf(version: number): Document {
  return { value: new BSON.Double(version + 0.5) };
}
