import { ConvoyError, toConvoyError, type ErrorName } from '@convoy/api/errors/convoy-error';
import {
  codeOf,
  failureName,
  objectTooLargeCode,
  partTooLargeCode,
  unauthorizedCode,
  apiVersionMissingCode,
  invalidViewCode,
  noQueryPlanCode,
  notablescanOff,
  requireApiVersionOff,
  shardNotFoundCode,
} from './failure.js';

/** What to do about a server's failure that an operator can remove. */
const namedCodes = new Map<number | null, readonly [ErrorName, string]>([
  [
    noQueryPlanCode,
    [
      'serverParameterInTheWay',
      'The parameter notablescan of a server refuses a query of Convoy. Set it to false on every member of both ' +
        `clusters: ${notablescanOff}.`,
    ],
  ],
  [
    apiVersionMissingCode,
    [
      'serverParameterInTheWay',
      'The parameter requireApiVersion of a server refuses commands that no stable API has, and Convoy needs such. ' +
        requireApiVersionOff,
    ],
  ],
  [
    shardNotFoundCode,
    [
      'shardDraining',
      'A shard of the destination is draining or gone, so nothing can be placed on it. Wait until removeShard says ' +
        'completed, or stop the removal, and start again.',
    ],
  ],
  [
    invalidViewCode,
    [
      'viewNotSupported',
      'An entry of system.views is malformed, so the server lists nothing of its database. Look for it with ' +
        'db.system.views.find() in every database, and remove it.',
    ],
  ],
  [objectTooLargeCode, tooLarge(objectTooLargeCode)],
  [partTooLargeCode, tooLarge(partTooLargeCode)],
  [
    unauthorizedCode,
    ['permissionMissing', "A server refused a command of Convoy's user. Grant it what docs/guide/before.md lists."],
  ],
]);

function tooLarge(code: number): readonly [ErrorName, string] {
  return [
    'documentTooLarge',
    `A document or change event does not fit into a reply of the server (code ${code}), for example because of a ` +
      'large _id. Shorten it on the source, or exclude its collection.',
  ];
}

/** The named failure of a server's code that an operator can do something about; null for any other. */
export function knownFailure(thrown: unknown): ConvoyError | null {
  if (thrown instanceof ConvoyError) return thrown;
  const known = namedCodes.get(codeOf(thrown));
  if (known === undefined) return null;
  const [error, description] = known;
  return new ConvoyError(error, `${description} The server said ${failureName(thrown)}.`, { cause: thrown });
}

/** Like `toConvoyError`, with a name for a server's failure that an operator can do something about. */
export function namedFailure(thrown: unknown): ConvoyError {
  return knownFailure(thrown) ?? toConvoyError(thrown);
}
