/** Whether a statement changed a row. */
export function changed({ changes }: { readonly changes: number | bigint }): boolean {
  return Number(changes) > 0
}
