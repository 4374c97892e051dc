/** Names of caps, for the pages of keys and of receipts. */
export const capNames = {
  day: 'Daily',
  week: 'Weekly',
  month: 'Monthly',
  quarter: 'Quarterly',
  total: 'In total',
  requests_day: 'Requests a day',
  tokens_day: 'Tokens a day',
} as const
