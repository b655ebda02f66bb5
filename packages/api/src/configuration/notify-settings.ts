import { z } from 'zod';
import { Secret } from './secret.js';

/** Events that a receiver may ask for, in the order of a migration. */
export const notifiedEvents = ['ready', 'committed', 'failed', 'lag', 'oplog'] as const;

/** One of `notifiedEvents`. */
export type NotifiedEvent = (typeof notifiedEvents)[number];

/** Maximum receivers: each event is stored and sent once for each. */
const RECEIVERS_MAX = 10;
/** A shorter secret can be guessed from one signed notification. */
const SECRET_CHARACTERS_MIN = 16;

const text = z.string().min(1, 'must not be empty');
const seconds = z
  .int()
  .min(1)
  .max(30 * 24 * 3_600);

const receiverSchema = z.strictObject({
  /** In logs and metrics instead of the URL, which may contain a secret. */
  name: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, 'must be 1 to 64 letters, digits, dots, dashes or underscores'),
  url: z
    .url({ protocol: /^https?$/, error: 'must be an address that begins with http:// or https://' })
    .transform((value) => new Secret(value)),
  secret: z
    .string()
    .min(SECRET_CHARACTERS_MIN, `must have at least ${SECRET_CHARACTERS_MIN} characters`)
    .transform((value) => new Secret(value)),
  caFile: text.optional(),
  events: z
    .array(z.enum(notifiedEvents))
    .min(1, 'must not be empty')
    .default([...notifiedEvents]),
});

/** Settings of notifications: who receives them, and the limits of `lag` and `oplog`. */
export const notifySchema = z.strictObject({
  receivers: z
    .array(receiverSchema)
    .min(1, 'must not be empty')
    .max(RECEIVERS_MAX)
    .refine((list) => new Set(list.map(({ name }) => name)).size === list.length, 'each needs a name of its own'),
  dashboardUrl: z.url({ protocol: /^https?$/, error: 'must be an address' }).optional(),
  lag: z
    .strictObject({ raise_seconds: seconds.default(300), clear_seconds: seconds.default(60) })
    .refine((limits) => limits.clear_seconds < limits.raise_seconds, 'clear_seconds must be below raise_seconds')
    .prefault({}),
  oplog: z
    .strictObject({ raise_seconds: seconds.default(3_600), clear_seconds: seconds.default(7_200) })
    .refine((limits) => limits.clear_seconds > limits.raise_seconds, 'clear_seconds must be above raise_seconds')
    .prefault({}),
});

/** Settings of notifications. */
export type NotifySettings = z.output<typeof notifySchema>;
