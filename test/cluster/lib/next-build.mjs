/** The change that makes a copy of the build another one: its functions lie in a schema of their own. */
export const NEXT_BUILD = [
  { file: 'db/postgres/turns.js', find: 'FUNCTION take_request(', put: 'FUNCTION  take_request(' },
]
