/** Up to which row everything has been proved. */
export interface ProvedRowsTable {
  what: 'receipt' | 'transfer'
  row: number
}

/** What the outside world had when everything up to those rows had moved. */
export interface ProvedBalancesTable {
  bucket: number
  posted_nano: bigint
}

/** What the charges of a period were proved to come to, up to a movement of the account. Only of those with many receipts. */
export interface ProvedSumsTable {
  account: number
  /** The row of the window, or the subject of the spend cap. */
  subject: string
  period_start: number
  movement: number
  used_nano: bigint
  period_end: number
}
