"""Items."""

from fastapi import APIRouter, HTTPException

router = APIRouter(prefix="/items")

ITEMS = {1: {"id": 1, "name": "lamp"}}


@router.get("/")
async def list_items() -> list[dict[str, object]]:
    return list(ITEMS.values())


@router.get("/{item_id}")
async def read_item(item_id: int) -> dict[str, object]:
    if item_id not in ITEMS:
        raise HTTPException(status_code=404, detail="not found")
    return ITEMS[item_id]
