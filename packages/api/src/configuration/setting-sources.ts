import { readFileSync } from 'node:fs';
import { ConvoyError } from '../errors/convoy-error.js';
import type { ConfigFile } from './config-file.js';
import { insideText, type OriginOf, pathText } from './config-problems.js';
import { flagName, secretSettings } from './setting-names.js';

/** Sources of a configuration. Flags override environment variables, which override the file. */
export interface SettingSources extends Partial<ConfigFile> {
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Flags by the names of their settings (`tokenFile` for the file of `token`); undefined for flags not given. */
  readonly flags?: Readonly<Record<string, unknown>>;
}

/** How the text of an environment variable or flag becomes the type of its setting. */
export type TextKind = 'number' | 'boolean' | 'list' | 'json';

/** What the sources know about a process's settings. */
export interface SettingNames {
  /** Environment variable of each setting. */
  readonly variables: Readonly<Record<string, string>>;
  /** Kinds of the settings that are no texts. */
  readonly kinds: Readonly<Partial<Record<string, TextKind>>>;
}

/** Suffixes of an environment variable and of a flag's setting that name a file with the value. */
export const FILE_VARIABLE_SUFFIX = '_FILE';
export const FILE_FLAG_SUFFIX = 'File';

/** The merged settings, and where each value comes from. */
export interface MergedSettings {
  readonly values: Readonly<Record<string, unknown>>;
  readonly originOf: OriginOf;
}

/**
 * Merges file, environment and flags, and reads the files that contain values.
 * @throws ConvoyError `invalidConfiguration`
 */
export function mergeSettings(sources: SettingSources, names: SettingNames): MergedSettings {
  const { file = {}, placeOf } = sources;
  if (typeof file !== 'object' || file === null || Array.isArray(file)) {
    throw new ConvoyError('invalidConfiguration', 'configuration: the file must contain one object of settings.');
  }
  const merged = new Map<string, unknown>(Object.entries(file));
  const origins = new Map<string, string>();
  for (const [setting, { value, origin }] of [...fromEnvironment(sources, names), ...fromFlags(sources)]) {
    merged.set(setting, value);
    origins.set(setting, origin);
  }
  const originOf: OriginOf = (path) => {
    const origin = origins.get(String(path[0]));
    if (origin !== undefined) return origin + insideText(path.slice(1));
    const place = placeOf?.(path);
    return place == null ? pathText(path) : `${pathText(path)} (${place})`;
  };
  const values = Object.fromEntries(
    [...merged].map(([setting, value]) => {
      const content = withFileContents(value, [setting], originOf);
      return [setting, origins.has(setting) ? typedValue(names.kinds[setting], content) : content];
    }),
  );
  return { values, originOf };
}

type Given = Map<string, { readonly value: unknown; readonly origin: string }>;

function fromEnvironment({ env = {} }: SettingSources, { variables }: SettingNames): Given {
  const given: Given = new Map();
  for (const [setting, name] of Object.entries(variables)) {
    if (env[name] !== undefined && env[name] !== '') given.set(setting, { value: env[name], origin: name });
    const fileName = name + FILE_VARIABLE_SUFFIX;
    if (isSecret(setting)) takeFile(given, setting, env[fileName], fileName);
  }
  return given;
}

function fromFlags({ flags = {} }: SettingSources): Given {
  const given: Given = new Map();
  const fileFlags = new Map<string, string>(secretSettings.map((setting) => [setting + FILE_FLAG_SUFFIX, setting]));
  for (const [setting, value] of Object.entries(flags))
    if (value !== undefined && !fileFlags.has(setting)) given.set(setting, { value, origin: flagName(setting) });
  for (const [flag, setting] of fileFlags) takeFile(given, setting, flags[flag], flagName(flag));
  return given;
}

function isSecret(setting: string): boolean {
  return (secretSettings as readonly string[]).includes(setting);
}

/** Takes the value of a setting from a file, unless the same source has the value itself. */
function takeFile(given: Given, setting: string, file: unknown, origin: string): void {
  if (file === undefined || file === '') return;
  const other = given.get(setting);
  if (other !== undefined)
    throw new ConvoyError('invalidConfiguration', `${origin}: cannot be set together with ${other.origin}.`);
  given.set(setting, { value: { file }, origin });
}

/** Leaves texts that do not fit the type of their setting; the schema refuses them. */
function typedValue(kind: TextKind | undefined, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  switch (kind) {
    case 'number':
      return /^\d+(\.\d+)?$/.test(value) ? Number(value) : value;
    case 'boolean':
      return { true: true, false: false }[value] ?? value;
    case 'list':
      return value.split(',').map((part) => part.trim());
    case 'json':
      return parsedJson(value);
    case undefined:
      return value;
  }
}

function parsedJson(value: string): unknown {
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

/** Longer than any connection string or password. */
const fileBytesMax = 64 * 1024;
/** Deeper than any setting. */
const depthMax = 8;

/**
 * Replaces every `{file: PATH}` inside of a value by the content of that file, without its last line break.
 * @param path where the value is in the configuration
 * @throws ConvoyError `invalidConfiguration` when a file is unreadable or too large; the error names neither file nor
 * content, since users put secrets in the wrong place
 */
export function withFileContents(value: unknown, path: readonly PropertyKey[], originOf: OriginOf): unknown {
  if (typeof value !== 'object' || value === null || path.length > depthMax) return value;
  if (Array.isArray(value)) return value.map((item, at) => withFileContents(item, [...path, at], originOf));
  const entries = Object.entries(value);
  const [[key, file] = []] = entries;
  if (entries.length === 1 && key === 'file' && typeof file === 'string') return contentOf(file, originOf(path));
  return Object.fromEntries(entries.map(([name, inner]) => [name, withFileContents(inner, [...path, name], originOf)]));
}

function contentOf(file: string, origin: string): string {
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (cause) {
    const { code = 'unreadable' } = cause as NodeJS.ErrnoException;
    throw new ConvoyError(
      'invalidConfiguration',
      `${origin}: the file cannot be read (${code}). Check its path and permissions.`,
      { cause },
    );
  }
  if (Buffer.byteLength(content) > fileBytesMax)
    throw new ConvoyError('invalidConfiguration', `${origin}: the file has more than ${fileBytesMax} bytes.`);
  return content.replace(/\r?\n$/, '');
}
