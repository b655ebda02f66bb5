import { Int32 } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { isTrue, numberOf } from '../../node/doc-fields.js';
import type { ServerVersion } from '../../node/server-version.js';
import { failure } from '../failure.js';
import { typeName } from '../../bson/type-of.js';

const known = ['v', 'key', 'name', 'unique'];

/**
 * The `clusteredIndex` of a new collection as lists show it, or undefined.
 * @throws CommandError 14 in releases before it (5.3) for anything but a boolean; 197, 5979700, 5979703, 40415 as the
 * server refuses
 */
export function clusteredIndexOption(version: ServerVersion, body: Doc): Doc | undefined {
  const given = body.get('clusteredIndex');
  if (given === undefined) return undefined;
  if (!version.atLeast(6, 0)) {
    if (typeof given === 'boolean') return undefined;
    throw failure.typeMismatch(
      `BSON field 'create.clusteredIndex' is the wrong type '${typeName(given)}', expected types '[bool, long, ` +
        `int, decimal, double']`,
    );
  }
  if (!(given instanceof Map)) {
    const rule =
      "The 'clusteredIndex' legacy format {clusteredIndex: <bool>} is only supported for specific internal " +
      'collections and vice versa';
    throw new CommandError(5979703, 'Location5979703', rule);
  }
  refuseInvalid(given);
  if (isTrue(body.get('capped')))
    throw failure.invalidOptions("The 'clusteredIndex' option is not supported with the 'capped' option");
  return new Map<string, Value>([
    ['v', new Int32(2)],
    ['key', new Map([['_id', new Int32(1)]])],
    ['name', given.get('name') ?? '_id_'],
    ['unique', true],
  ]);
}

function refuseInvalid(given: Doc): void {
  const unknown = [...given.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined) throw failure.unknownField(`create.clusteredIndex.${unknown}`);
  const key = given.get('key');
  for (const name of ['key', 'unique']) {
    if (!given.has(name))
      throw new CommandError(
        40414,
        'Location40414',
        `BSON field 'create.clusteredIndex.${name}' is missing but a required field`,
      );
  }
  if (!isTrue(given.get('unique')))
    throw new CommandError(
      5979700,
      'Location5979700',
      'The clusteredIndex option requires unique: true to be specified',
    );
  if (!(key instanceof Map) || key.size !== 1 || numberOf(key.get('_id')) !== 1) {
    throw new CommandError(
      197,
      'InvalidIndexSpecificationOption',
      'The clusteredIndex option is only supported for key: {_id: 1}',
    );
  }
}
