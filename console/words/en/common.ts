export const common = {
  product: 'Millrace',
  save: 'Save',
  cancel: 'Cancel',
  close: 'Close',
  done: 'Done',
  retry: 'Try again',
  copy: 'Copy',
  copied: 'Copied',
  copyFailed: 'The browser did not allow copying. Select the text and copy it yourself.',
  showMore: 'Show more',
  loading: 'Loading',
  working: 'Working',
  optional: 'optional',
  none: 'None',
  all: 'All',
  actions: 'Actions',
  minus: 'minus',
  show: 'Show',
  hide: 'Hide',
  typeName: (name: string) => `Type “${name}” to confirm`,
  requestId: (id: string) => `Request ${id}`,
  notifications: 'Notifications',
  dismiss: 'Dismiss',
  meter: (used: string, limit: string, left: string) => `${used} used of ${limit}, ${left} left`,
  meterHeld: (used: string, held: string, limit: string, left: string) =>
    `${used} used and ${held} held of ${limit}, ${left} left`,
  used: 'Used',
  held: 'Held',
  left: 'Left',
} as const

/** By code; what is not here is shown in the server's own words. */
export const problems = {
  title: 'That did not work',
  unexpected: 'Something went wrong on the server.',
  unreachable: 'The server could not be reached. Check the connection and try again.',
  pageFailed: 'This page has failed. Nothing was changed by that.',
  reload: 'Reload',
  key_not_found: 'There is no such key in this account.',
  request_not_found: 'This account has no such request. One that was refused is not in the books.',
} as const

export const charts = {
  showTable: 'Show as table',
  showChart: 'Show as chart',
  total: 'Total',
  when: 'When',
  legend: 'Series',
  nothing: 'Nothing to draw in this range.',
  keys: 'Arrow keys move from point to point.',
} as const
