import type { CopyOrderReason } from '@convoy/api/contract/copy-order';

/** The copy of a collection in record order has to give way to one in `_id` order. */
export class RecordOrderLeftError extends Error {
  override readonly name = 'RecordOrderLeftError';

  constructor(readonly reason: CopyOrderReason) {
    super(`the copy leaves record order: ${reason}`);
  }
}
