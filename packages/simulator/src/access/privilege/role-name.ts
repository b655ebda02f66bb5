import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { doc } from '../../node/doc-fields.js';

/** A role and the database it is defined on. */
export interface RoleName {
  readonly role: string;
  readonly db: string;
}

export function roleText({ role, db }: RoleName): string {
  return `${role}@${db}`;
}

export function roleDocument({ role, db }: RoleName): Doc {
  return doc(['role', role], ['db', db]);
}

/**
 * One role as clients write it: a name in the command's database, or `{role, db}`.
 * @throws CommandError 2 for anything else
 */
export function readRole(value: Value | undefined, db: string): RoleName {
  if (typeof value === 'string') return { role: value, db };
  if (value instanceof Map) {
    const [role, of] = [value.get('role'), value.get('db')];
    if (typeof role === 'string' && typeof of === 'string') return { role, db: of };
  }
  throw new CommandError(2, 'BadValue', 'Role names must be either strings or objects');
}

/** A list of roles, each once. */
export function readRoles(value: Value | undefined, db: string): RoleName[] {
  const roles = (Array.isArray(value) ? value : []).map((each) => readRole(each, db));
  return [...new Map(roles.map((role) => [roleText(role), role])).values()];
}
