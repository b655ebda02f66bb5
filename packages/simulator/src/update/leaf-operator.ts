import type { Value } from '../bson/value.js';
import type { UpdateOptions } from './update-options.js';

/** What an operator sees at the end of its path. */
export interface LeafInput {
  /** The value there now; undefined when the field is missing. */
  present: Value | undefined;
  operand: Value;
  /** Last name of the path, for messages. */
  name: string;
  /** The document's `_id`, for messages. */
  id: Value | undefined;
  options: UpdateOptions;
}

/** Gives the new value; undefined leaves the field missing or removes it. */
export type LeafOperator = (input: LeafInput) => Value | undefined;
