import { findElement, type RawValue, rawValue, readDocument } from '../../../src/bson/scan.js';
import type { Delta, Folded } from '../../../src/apply/delta.js';
import { writeDelta, writeForAbsent, writeStages } from '../../../src/apply/write-delta.js';
import { DocumentBuilder } from '../../../src/bson/build.js';

/** The stages of a delta's update pipeline, as an array. */
export function deltaPipeline(delta: Delta): Uint8Array {
  const builder = new DocumentBuilder();
  writeStages(builder, delta);
  return builder.finish();
}

/** The operators for a document that has none of the fields that come last. */
export function updateOfAbsent(delta: Folded): Uint8Array {
  const builder = new DocumentBuilder();
  writeForAbsent(builder, delta);
  const statement = builder.finish();
  const update = findElement(statement, 'u');
  if (update === null) throw new Error('a statement without u');
  return readDocument(statement, update);
}

/** The update that is sent for a delta: operators as a document, or a pipeline as an array. */
export function deltaUpdate(delta: Delta): RawValue {
  const builder = new DocumentBuilder();
  writeDelta(builder, delta);
  const statement = builder.finish();
  const update = findElement(statement, 'u');
  if (update === null) throw new Error('a statement without u');
  return rawValue(statement, update);
}
