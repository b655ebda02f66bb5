import { BSON } from 'mongodb';
import { describe, expect, it } from 'vitest';
import type { RawWrite } from '@convoy/instance/cluster/node-client';
import { type ApplyWorkload, type Operation, operationsOf } from '../../../src/apply/apply-workload.js';
import { type BatchForm, readyBatches } from '../../../src/apply/ready-batches.js';

const workload: ApplyWorkload = {
  database: 'bench',
  collection: 'documents',
  documentBytes: 200,
  documents: 100,
  operations: 2_000,
  mix: { insert: 25, update: 40, replace: 15, delete: 20 },
  hotFraction: 0.3,
  hotDocuments: 20,
};

/** The result of operations or commands: the last value of every document. */
type State = Map<number, number>;

function stateAfter(operations: readonly Operation[]): State {
  const state: State = new Map(Array.from({ length: workload.documents }, (_, id) => [id, 0]));
  for (const { kind, id, version } of operations) {
    expect(state.has(id)).toBe(kind !== 'insert');
    if (kind === 'delete') state.delete(id);
    else state.set(id, version + 0.5);
  }
  return state;
}

/** The same for commands, run worker by worker. */
function stateOf(workers: readonly RawWrite[][]): State {
  const state: State = new Map(Array.from({ length: workload.documents }, (_, id) => [id, 0]));
  for (const command of workers.flat())
    for (const bytes of command.statements) carryOut(state, command.kind, BSON.deserialize(bytes));
  return state;
}

function carryOut(state: State, kind: RawWrite['kind'], statement: BSON.Document): void {
  if (kind === 'insert') {
    state.set(statement._id as number, statement.value as number);
    return;
  }
  const id = (statement.q as { _id: number })._id;
  if (kind === 'delete') {
    state.delete(id);
    return;
  }
  const update = statement.u as { $set?: { value: number } } & { $replaceWith: { $literal: { value: number } } }[];
  state.set(id, update.$set?.value ?? update[0]?.$replaceWith.$literal.value ?? 0);
}

function idOf(kind: RawWrite['kind'], bytes: Uint8Array): number {
  const statement = BSON.deserialize(bytes);
  return (kind === 'insert' ? statement._id : (statement.q as { _id: number })._id) as number;
}

const forms: BatchForm[] = [
  { workers: 3, operationsMax: 100, order: 'folded' },
  { workers: 3, operationsMax: 100, order: 'single' },
  { workers: 2, operationsMax: 500, order: 'ordered' },
];

describe('the operations of a workload', () => {
  it('are reproducible, of all kinds, and none fails', () => {
    const operations = operationsOf(workload);
    expect(operations).toEqual(operationsOf(workload));
    expect(operations).toHaveLength(workload.operations);
    expect(new Set(operations.map(({ kind }) => kind))).toEqual(new Set(['insert', 'update', 'replace', 'delete']));
    stateAfter(operations);
  });

  it('hit hot documents as often as requested', () => {
    const met = operationsOf(workload).filter(
      ({ kind, id }) => (kind === 'update' || kind === 'replace') && id < 20,
    ).length;
    expect(met / workload.operations).toBeGreaterThan(0.1);
  });
});

describe.each(forms)('ready-made batches, $order', (form) => {
  const workers = readyBatches(workload, form);

  it('have the same result as the operations', () => {
    expect(stateOf(workers)).toEqual(stateAfter(operationsOf(workload)));
  });

  it('are ordered, or contain no document twice', () => {
    for (const { kind, statements, ordered } of workers.flat()) {
      expect(ordered).toBe(form.order === 'ordered');
      expect(statements.length).toBeLessThanOrEqual(form.operationsMax);
      const ids = statements.map((bytes) => idOf(kind, bytes));
      if (!ordered) expect(new Set(ids).size).toBe(ids.length);
    }
  });

  it('contain every statement unless folded', () => {
    const statements = workers.flat().reduce((sum, command) => sum + command.statements.length, 0);
    if (form.order === 'folded') expect(statements).toBeLessThan(workload.operations);
    else expect(statements).toBe(workload.operations);
  });
});
