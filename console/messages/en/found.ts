export const found = {
  about: 'Find a request of anybody by its id, as it stands in x-request-id and in the logs.',
  id: 'Request id',
  idExample: 'req_…',
  idWrong: 'An id begins with req_.',
  find: 'Find',
  hint: 'Whoever asks for help can copy the id from an error message or from their list of requests.',
  account: 'Account',
  none: 'There is no such request',
  noneText:
    'A request that was refused before it began has no receipt, and old ones are let go in time. Check the id for a slip.',
  again: 'Find another',
} as const
