/** Pictures of a message: how many, and how large they are once they are prepared. */
export const IMAGES_MAX = 4
const FILE_BYTES_MAX = 20_000_000
/** Larger files are drawn smaller. */
const KEPT_BYTES_MAX = 700_000
/** What models look at; more costs tokens and shows them nothing. */
const SIDE_MAX = 1568
const QUALITY = 0.85
const TYPES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif']
export const IMAGE_TYPES = TYPES.join(',')

export type PreparedImage =
  | { readonly kind: 'image'; readonly url: string }
  | { readonly kind: 'refused'; readonly name: string }

/** The picture as a data URL. A large one is drawn smaller, as JPEG. */
export async function prepareImage(file: File): Promise<PreparedImage> {
  const refused = { kind: 'refused', name: file.name } as const
  if (!TYPES.includes(file.type) || file.size > FILE_BYTES_MAX) return refused
  try {
    const bitmap = await createImageBitmap(file)
    const scale = Math.min(1, SIDE_MAX / Math.max(bitmap.width, bitmap.height))
    const url = file.size <= KEPT_BYTES_MAX ? await readUrl(file) : await draw(bitmap, scale)
    bitmap.close()
    return { kind: 'image', url }
  } catch {
    return refused
  }
}

async function draw(bitmap: ImageBitmap, scale: number): Promise<string> {
  const canvas = document.createElement('canvas')
  canvas.width = Math.max(1, Math.round(bitmap.width * scale))
  canvas.height = Math.max(1, Math.round(bitmap.height * scale))
  const context = canvas.getContext('2d')
  if (context === null) throw new Error('This browser cannot draw.')
  // JPEG has no transparency.
  context.fillStyle = 'white'
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height)
  return canvas.toDataURL('image/jpeg', QUALITY)
}

const readUrl = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(reader.error)
    reader.readAsDataURL(file)
  })

export const imagesIn = (data: DataTransfer | null): File[] =>
  [...(data?.files ?? [])].filter(({ type }) => type.startsWith('image/'))
