import { ConvoyError, toConvoyError, type ErrorName } from '@convoy/api/errors/convoy-error';
import {
  authenticationFailedCode,
  codeOf,
  failureName,
  objectTooLargeCode,
  partTooLargeCode,
  unauthorizedCode,
  userWritesBlockedCode,
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
  [userWritesBlockedCode, ['userWritesBlocked', blockedText("a command of Convoy's user")]],
  // UserNotFound, AuthenticationFailed, AuthenticationRestrictionUnmet, AtlasError.
  ...[11, authenticationFailedCode, 214, 8000].map(
    (code) =>
      [
        code,
        [
          'authenticationFailed',
          'A server refused the login of a connection string that it has taken before: user, password or the ' +
            'addresses from which it may log in have changed. Correct them there or in the configuration, and start ' +
            'the instances again.',
        ],
      ] as const,
  ),
  [
    unauthorizedCode,
    ['permissionMissing', "A server refused a command of Convoy's user. Grant it what docs/guide/before.md lists."],
  ],
]);

function blockedText(what: string): string {
  return (
    `A cluster refuses the writes of users, and ${what} too. Have that block lifted by who has set it (convoy ` +
    "unblock lifts Convoy's own), or grant Convoy's user bypassWriteBlockingMode, which the role restore has."
  );
}

/** @param what is refused by a block of user writes */
export function userWritesBlocked(what: string): ConvoyError {
  return new ConvoyError('userWritesBlocked', blockedText(what));
}

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
  const known = namedCodes.get(codeOf(thrown) ?? ownCode(thrown));
  if (known === undefined) return null;
  const [error, description] = known;
  return new ConvoyError(error, `${description} The server said ${failureName(thrown)}.`, { cause: thrown });
}

/** The code in an error of Convoy's own class that stands for a server's, as for a refused statement. */
function ownCode(thrown: unknown): number | null {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'number' ? thrown.code : null;
}

/** Like `toConvoyError`, with a name for a server's failure that an operator can do something about. */
export function namedFailure(thrown: unknown): ConvoyError {
  return knownFailure(thrown) ?? toConvoyError(thrown);
}
