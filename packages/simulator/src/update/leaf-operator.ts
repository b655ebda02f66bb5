import type { Value } from '../bson/value.js';
import type { UpdateOptions } from './update-options.js';

/** The place of an operand in an update. */
export interface OperandSite {
  /** The whole path, for messages. */
  readonly path: string;
  readonly options: UpdateOptions;
}

/** What an operator sees at the end of its path. */
export interface LeafSite {
  /** The current value. Undefined when the field is missing. */
  readonly present: Value | undefined;
  /** The path as it led through the document, for messages. */
  readonly path: string;
  /** Last name of the path, for messages. */
  readonly name: string;
  /** The document's `_id`, for messages. */
  readonly id: Value | undefined;
  readonly inserting: boolean;
}

/** Returns the new value. Undefined leaves the field missing or removes it. */
export type Change = (site: LeafSite) => Value | undefined;

/** Parses an operand. @throws CommandError for one that no document could accept */
export type LeafOperator = (operand: Value, site: OperandSite) => Change;
