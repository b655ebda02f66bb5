import { createHash } from 'node:crypto';
import type { Document } from 'mongodb';
import { failureName } from '../../cluster/failure.js';
import { canonicalText } from '../canonical-text.js';
import { withoutFields } from '../without-fields.js';

/** An index that the destination could not build, as the migration's record has it. */
export interface SkippedIndex {
  /** UUID of its collection on the source. */
  uuid: string;
  /** `database.collection` on the source, when the build failed. */
  namespace: string;
  index: string;
  /** SHA-256 of the definition: another one under the same name is tried anew. */
  definition: string;
  /** The destination does not have the index, or has it without being unique. */
  outcome: 'absent' | 'notUnique';
  /** Whether the index is unique on the source: nothing enforces that after the commit. */
  unique: boolean;
  /** The server's name and code of the failure, without values. */
  failure: string;
}

/** Attributes that `collMod` changes and that no build depends on. */
const CHANGEABLE = ['hidden', 'prepareUnique', 'expireAfterSeconds'] as const;

/**
 * Identifies a definition.
 * @param index of the source, in portable form
 */
export function definitionOf(index: Document): string {
  return createHash('sha256')
    .update(canonicalText(withoutFields(index, ...CHANGEABLE)))
    .digest('hex');
}

/**
 * The entry of the record about an index that the destination could not build.
 * @param collection its UUID and namespace on the source
 * @param final the index in portable form
 * @param failure what the server threw
 */
export function skippedIndexOf(
  collection: Pick<SkippedIndex, 'uuid' | 'namespace'>,
  final: Document,
  outcome: SkippedIndex['outcome'],
  failure: unknown,
): SkippedIndex {
  return {
    ...collection,
    index: String(final.name),
    definition: definitionOf(final),
    outcome,
    unique: final.unique === true,
    failure: failureName(failure),
  };
}

/**
 * How an index of the source is skipped, if it is.
 * @param index in portable form
 */
export function skipOf(
  skipped: readonly SkippedIndex[] | undefined,
  uuid: string,
  index: Document,
): SkippedIndex | undefined {
  return skipped?.find(
    (one) => one.uuid === uuid && one.index === index.name && one.definition === definitionOf(index),
  );
}
