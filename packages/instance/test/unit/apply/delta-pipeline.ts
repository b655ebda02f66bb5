import type { Delta } from '../../../src/apply/delta.js';
import { writeDelta } from '../../../src/apply/delta-pipeline.js';
import { DocumentBuilder } from '../../../src/bson/build.js';

/** The stages of a delta's update pipeline, as an array. */
export function deltaPipeline(delta: Delta): Uint8Array {
  const builder = new DocumentBuilder();
  writeDelta(builder, delta);
  return builder.finish();
}
