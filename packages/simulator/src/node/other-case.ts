import { CommandError } from './command.js';
import type { ServerVersion } from './server-version.js';

/** The database among those present whose name differs from this one in case alone. */
export function databaseInOtherCase(name: string, present: Iterable<string>): string | undefined {
  const folded = name.toLowerCase();
  return [...present].find((other) => other !== name && other.toLowerCase() === folded);
}

/** A router's refusal of such a database (5.0.7). */
export function differsInCase(name: string, other: string, version: ServerVersion): CommandError {
  const preface = version.atLeast(5, 0) ? `Database ${name} could not be created :: caused by :: ` : '';
  const message = `can't have 2 databases that just differ on case  have: ${other} want to add: ${name}`;
  return new CommandError(13297, 'DatabaseDifferCase', preface + message);
}

/** A member's refusal of such a database (5.0.7). */
export function opensInOtherCase(name: string, other: string): CommandError {
  const message = `db already exists with different case already have: [${other}] trying to create [${name}]`;
  return new CommandError(13297, 'DatabaseDifferCase', message);
}
