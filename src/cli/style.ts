type Paint = (text: string) => string

/** The few ways in which text is set apart. Without colours each is the text itself. */
export interface Style {
  readonly bold: Paint
  readonly dim: Paint
  readonly green: Paint
  readonly yellow: Paint
  readonly red: Paint
}

const plain: Paint = (text) => text
const sgr =
  (open: number, close: number): Paint =>
  (text) =>
    `\u001b[${open}m${text}\u001b[${close}m`

export const styleFor = (colours: boolean): Style =>
  colours
    ? { bold: sgr(1, 22), dim: sgr(2, 22), green: sgr(32, 39), yellow: sgr(33, 39), red: sgr(31, 39) }
    : { bold: plain, dim: plain, green: plain, yellow: plain, red: plain }
