/**
 * What a user may say to an approval, in lower case and without closing punctuation. Only these words decide; whoever
 * says more or something else is asked again. A further language is a further line in each list.
 */
export const approvalWords: {
  readonly yes: readonly string[]
  readonly no: readonly string[]
} = {
  yes: [
    ...['yes', 'y', 'yes please', 'ok', 'okay', 'approve', 'approved', 'go', 'go ahead'],
    ...['ja', 'j', 'ja bitte', 'jawohl', 'genehmigt', 'freigegeben', 'einverstanden'],
  ],
  no: [
    ...['no', 'n', 'no thanks', 'reject', 'rejected', 'stop', 'cancel'],
    ...['nein', 'nein danke', 'abgelehnt', 'ablehnen', 'stopp', 'abbrechen'],
  ],
}
