import { z } from 'zod'

/** A map with known keys only, that may be left out: each of its keys then stands at its own default. */
export const section = <Shape extends z.ZodRawShape>(description: string, shape: Shape) =>
  z.strictObject(shape).meta({ description })

/** A key of the file that may be left out altogether. */
export const list = <Item extends z.ZodType>(description: string, item: Item) =>
  z.array(item).meta({ description }).prefault([])
