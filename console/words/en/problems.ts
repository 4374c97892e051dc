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
