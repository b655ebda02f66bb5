import { Int32 } from 'bson';
import { randomBytes } from 'node:crypto';
import { makeUuid } from '../../bson/uuid.js';
import type { Doc, Value } from '../../bson/value.js';
import { doc, docOf, numberOf } from '../../node/doc-fields.js';
import { type RoleName, readRoles, roleDocument } from '../privilege/role-name.js';
import {
  deriveCredential,
  type MechanismName,
  type ScramCredential,
  scramMechanisms,
} from '../scram/scram-mechanism.js';

/** A user's name and database. */
export interface UserName {
  readonly user: string;
  readonly db: string;
}

export function userText({ user, db }: UserName): string {
  return `${user}@${db}`;
}

/** The `_id` of a user's or role's document. */
export function accessId(db: string, name: string): string {
  return `${db}.${name}`;
}

/** A new document of `admin.system.users`, without credentials and roles. */
export function newUserDocument({ user, db }: UserName): Doc {
  return doc(
    ['_id', accessId(db, user)],
    ['userId', makeUuid()],
    ['user', user],
    ['db', db],
    ['credentials', new Map<string, Value>()],
    ['roles', []],
  );
}

export function rolesOf(document: Doc): RoleName[] {
  return readRoles(document.get('roles'), '');
}

export function roleDocuments(roles: readonly RoleName[]): Doc[] {
  return roles.map(roleDocument);
}

/** Derives the credentials of a password for each mechanism, with new salts. */
export async function newCredentials(user: string, password: string): Promise<Doc> {
  const credentials: Doc = new Map();
  for (const mechanism of scramMechanisms) {
    const salt = randomBytes(mechanism.saltBytes);
    credentials.set(mechanism.name, credentialDocument(await deriveCredential(mechanism, user, password, salt)));
  }
  return credentials;
}

function credentialDocument({ iterations, salt, storedKey, serverKey }: ScramCredential): Doc {
  return doc(
    ['iterationCount', new Int32(iterations)],
    ['salt', salt.toString('base64')],
    ['storedKey', storedKey.toString('base64')],
    ['serverKey', serverKey.toString('base64')],
  );
}

/** The credential of a user for a mechanism; undefined when there is none. */
export function credentialOf(document: Doc, mechanism: MechanismName): ScramCredential | undefined {
  const kept = docOf(docOf(document.get('credentials'))?.get(mechanism));
  if (kept === undefined) return undefined;
  const bytes = (name: string): Buffer => {
    const value = kept.get(name);
    return Buffer.from(typeof value === 'string' ? value : '', 'base64');
  };
  return {
    iterations: numberOf(kept.get('iterationCount')) ?? 0,
    salt: bytes('salt'),
    storedKey: bytes('storedKey'),
    serverKey: bytes('serverKey'),
  };
}

/** Names of the mechanisms that a user can log in with. */
export function mechanismsOf(document: Doc): string[] {
  return [...(docOf(document.get('credentials')) ?? new Map<string, Value>()).keys()];
}
