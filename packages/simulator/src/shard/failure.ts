import { CommandError } from '../node/command.js';
import { unknownField } from '../node/unknown-field.js';

/** The failures that several commands of a shard share, in the server's words. */
export const failure = {
  badValue: (message: string): CommandError => new CommandError(2, 'BadValue', message),
  failedToParse: (message: string): CommandError => new CommandError(9, 'FailedToParse', message),
  typeMismatch: (message: string): CommandError => new CommandError(14, 'TypeMismatch', message),
  namespaceNotFound: (message: string): CommandError => new CommandError(26, 'NamespaceNotFound', message),
  namespaceExists: (message: string): CommandError => new CommandError(48, 'NamespaceExists', message),
  invalidNamespace: (message: string): CommandError => new CommandError(73, 'InvalidNamespace', message),
  invalidOptions: (message: string): CommandError => new CommandError(72, 'InvalidOptions', message),
  unknownField,
  isView: (namespace: string): CommandError =>
    new CommandError(166, 'CommandNotSupportedOnView', `Namespace ${namespace} is a view, not a collection`),
  cursorNotFound: (id: string): CommandError => new CommandError(43, 'CursorNotFound', `cursor id ${id} not found`),
  writeConflict: (): CommandError =>
    new CommandError(
      112,
      'WriteConflict',
      'WriteConflict error: this operation conflicted with another operation. Please retry your operation or ' +
        'multi-document transaction.',
      ['TransientTransactionError'],
    ),
};
