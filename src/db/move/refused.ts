/** The move was not begun, or not ended. The message tells the operator what to do. */
export class MoveRefused extends Error {
  override readonly name = 'MoveRefused'
}
