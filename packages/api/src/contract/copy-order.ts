import { z } from 'zod';

/** Why a collection is copied in an order, as the end of a sentence. */
export const copyOrderReasons = {
  requested: 'copyInNaturalOrder names it',
  randomIds: 'its _ids are random over its records',
  orderedIds: 'its _ids follow its records',
  small: 'it is too small for a sample of its _ids',
  notSampled: 'no sample of its _ids was possible',
  documentFilter: 'documentFilter chooses its documents',
  collation: 'its _id index has a collation',
  clustered: 'it is stored in the order of its _ids',
  readPreference: 'readPreference chooses other members than primaries',
  changes: 'too many of its documents changed while it was copied in natural order',
  positionsLost: 'elections or deletes took the place of its copy in natural order too often',
  interrupted: 'its copy in natural order could not be read in many attempts',
  refused: 'the source refuses to read it in natural order from a position on',
} as const;

export type CopyOrderReason = keyof typeof copyOrderReasons;

/** The order in which a task copies its part of a collection. */
export const copyOrderSchema = z.object({
  order: z.enum(['natural', '_id']),
  reason: z.enum(Object.keys(copyOrderReasons) as [CopyOrderReason, ...CopyOrderReason[]]),
});

/** Present only where `copyInNaturalOrder` or `detectRandomId` asks for another order than that of `_id`. */
export type CopyOrder = z.output<typeof copyOrderSchema>;

/** An order with its reason for people: `Copied in natural order: its _ids are random over its records.` */
export const describedOrderSchema = copyOrderSchema.extend({ description: z.string() });

export type DescribedOrder = z.output<typeof describedOrderSchema>;

/** Adds the text. */
export function describeOrder({ order, reason }: CopyOrder): DescribedOrder {
  return { order, reason, description: `Copied in ${order} order: ${copyOrderReasons[reason]}.` };
}
