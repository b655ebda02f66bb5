import { z } from 'zod';
import { notifySchema } from './notify-settings.js';
import { Secret } from './secret.js';
import { environmentName } from './setting-names.js';
import type { SettingNames, TextKind } from './setting-sources.js';
import { tlsSchema } from './tls-settings.js';

/** Shortest secret of a fleet: 128 bits in hexadecimal digits. Nothing makes guessing a shorter one slow. */
const CHARACTERS_MIN = 32;

/** `fleetSecret` of a configuration. */
const fleetSecretSchema = z
  .string()
  .regex(/^\S+$/, 'must be one word')
  .min(CHARACTERS_MIN, `must have at least ${CHARACTERS_MIN} characters`)
  .transform((text) => new Secret(text));

/** Names that users of mongosync know, from the most to the least verbose. */
const verbosities = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'] as const;

/** A text that says something. */
export const textSchema = z.string().min(1, 'must not be empty');

/** A token of the API. */
export const tokenSchema = z
  .string()
  .regex(/^\S+$/, 'must be one word')
  .transform((value) => new Secret(value));

export const portSchema = z.int().min(0).max(65_535);

/** Settings of instances and coordinators alike; messages never repeat a value. */
export const processSettings = {
  listen: textSchema.default('127.0.0.1'),
  allowedHosts: z.array(textSchema).max(100).default([]),
  token: tokenSchema.optional(),
  allowUnauthenticated: z.boolean().default(false),
  tls: tlsSchema.optional(),
  fleetSecret: fleetSecretSchema.optional(),
  /** Of coordinators, and of a lone instance: in a fleet coordinators send the notifications. */
  notify: notifySchema.optional(),
  logPath: textSchema.optional(),
  verbosity: z.string().toUpperCase().pipe(z.enum(verbosities)).default('INFO'),
};

/**
 * What the sources know about the settings of a schema.
 * @param kinds of those that are no texts and that not all processes have
 */
export function settingNamesOf(
  { shape }: { readonly shape: object },
  kinds: Readonly<Record<string, TextKind>> = {},
): SettingNames {
  return {
    variables: Object.fromEntries(Object.keys(shape).map((name) => [name, environmentName(name)])),
    kinds: {
      port: 'number',
      allowUnauthenticated: 'boolean',
      allowedHosts: 'list',
      tls: 'json',
      notify: 'json',
      ...kinds,
    },
  };
}
