import type { bothNames as bothNamesOfApi, NamespaceRemap, remapText } from '@convoy/api/contract/namespace-remap';

/** A database or collection as users write it: `shop` or `shop.orders`. The page loads no module of the API. */
const placeText: typeof remapText = ({ database, collection }) =>
  collection === undefined ? database : `${database}.${collection}`;

/** The names of a collection on both sides as one text; one name where it is the same. */
export const bothNames: typeof bothNamesOfApi = (namespace, destination) =>
  destination === undefined || destination === namespace ? namespace : `${namespace} → ${destination}`;

/** All elements of a remap. */
export function remapsText(elements: NamespaceRemap): string {
  return elements.map(({ from, to }) => bothNames(placeText(from), placeText(to))).join(', ');
}
