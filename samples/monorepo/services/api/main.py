from fastapi import FastAPI


def create_app() -> FastAPI:
    application = FastAPI()

    @application.get("/prices")
    def prices() -> dict[str, int]:
        return {"A-1": 990}

    return application


app = create_app()

if __name__ == "__main__":
    import uvicorn

    uvicorn.run("main:app", port=8100)
