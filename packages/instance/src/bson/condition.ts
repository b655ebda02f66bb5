import { elementType } from './element-type.js';
import { elementsOf, findElement, int32At, type NamedElement, type RawValue } from './scan.js';

/** `$`, with which the names of operators begin. */
const dollar = 0x24;

/**
 * Whether a query that holds this value as it is means a condition instead: a regular expression, or a document that
 * begins like operators. A reference with both `$ref` and `$id` is a value (server source: isExpressionDocument).
 * @param start where the value begins in `bytes`
 */
export function isConditionAt(bytes: Uint8Array, type: number, start: number): boolean {
  if (type === elementType.regex) return true;
  if (type !== elementType.document) return false;
  const isEmpty = bytes[start + 4] === 0;
  if (isEmpty || bytes[start + 5] !== dollar) return false;
  const document = bytes.subarray(start, start + int32At(bytes, start));
  return findElement(document, '$ref') === null || findElement(document, '$id') === null;
}

/** The same for a value that is cut out. */
export function isCondition({ type, bytes }: RawValue): boolean {
  return isConditionAt(bytes, type, 0);
}

/**
 * Whether servers take a value as a bound of chunks and zones. For others routers do not know the shard key of a query
 * either, even with `$eq`: an upsert is refused or becomes an insert by the router (server source:
 * isValidShardKeyElementForStorage).
 */
export function isKeyBound({ type, bytes }: RawValue): boolean {
  return type !== elementType.regex && !(type === elementType.document && holdsDollars(bytes));
}

/** Whether a field at any depth has a name that begins with `$`, except for those of references. */
function holdsDollars(document: Uint8Array): boolean {
  const elements = [...elementsOf(document)];
  return elements.slice(referenceLength(elements)).some((element) => {
    if (element.name.startsWith('$')) return true;
    const inside = embedded(document, element);
    return inside !== null && holdsDollars(inside);
  });
}

/** How many fields make up the reference that a document begins with: `$ref`, `$id` and maybe `$db`; 0 without one. */
function referenceLength([first, second, third]: readonly NamedElement[]): number {
  if (first?.name !== '$ref' || first.type !== elementType.string || second?.name !== '$id') return 0;
  return third?.name === '$db' && third.type === elementType.string ? 3 : 2;
}

function embedded(document: Uint8Array, { type, start, end }: NamedElement): Uint8Array | null {
  switch (type) {
    case elementType.document:
    case elementType.array:
      return document.subarray(start, end);
    case elementType.codeWithScope: {
      // The size of all, then that of the code, which is before the scope.
      const scopeStart = start + 8 + int32At(document, start + 4);
      return document.subarray(scopeStart, end);
    }
    default:
      return null;
  }
}
