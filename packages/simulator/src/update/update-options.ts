import type { Collation } from '../bson/collation.js';
import type { Doc } from '../bson/value.js';
import type { ExpressionContext } from '../expression/variables.js';

/** What an update needs besides documents. */
export interface UpdateOptions {
  arrayFilters?: readonly Doc[] | undefined;
  collation?: Collation | undefined;
  /** The time of `$currentDate` and the variables of `let` and `c`. */
  context?: ExpressionContext | undefined;
}

/** The origin of the update of a document. */
export interface UpdateSite {
  /** True while an upsert makes a new document: `$setOnInsert` applies, and any field name may be stored. */
  inserting?: boolean | undefined;
}
