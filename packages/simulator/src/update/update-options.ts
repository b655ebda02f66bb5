import type { Collation } from '../bson/collation.js';
import type { Doc } from '../bson/value.js';
import type { ExpressionContext } from '../expression/variables.js';

/** What an update needs besides the document. */
export interface UpdateOptions {
  /** The filter that found the document; the positional `$` needs it. */
  query?: Doc | undefined;
  arrayFilters?: readonly Doc[] | undefined;
  collation?: Collation | undefined;
  /** True while an upsert makes a new document: `$setOnInsert` applies, and any field names may be stored. */
  inserting?: boolean | undefined;
  /** `$$NOW`, `$$CLUSTER_TIME`, `$currentDate` and the variables of `let` and `c`. */
  context?: ExpressionContext | undefined;
}
